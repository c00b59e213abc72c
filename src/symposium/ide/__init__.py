"""IDE operations: their vocabulary, and language servers that answer them where no editor does."""
