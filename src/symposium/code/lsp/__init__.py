"""Language servers: processes, documents, and IDE operations."""
