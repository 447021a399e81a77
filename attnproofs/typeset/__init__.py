"""What readers see: text, LaTeX, HTML and figures, in English and Korean."""
