"""One gate for what a model gives: outputs of any form and files of truths, read and checked."""
