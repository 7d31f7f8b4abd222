"""Path lengths on trees and graphs, exact where floats would round."""
