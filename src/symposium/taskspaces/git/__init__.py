"""All that is asked of git, through one program that runs nothing a repository brings."""
