"""What operators start, keep and put back: the files of `deploy/`, backups and upgrades."""
