"""Reading and checking the outputs of a model, in any form, and files of truths."""
