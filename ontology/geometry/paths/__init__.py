"""Path lengths on trees and graphs, computed exactly even where sums of floats would be rounded."""
