"""Lengths of paths on trees and graphs, exact where floats would round."""
