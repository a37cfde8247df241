"""From what a user has (tables, images, documents, vectors) to arrays, with item names kept."""
