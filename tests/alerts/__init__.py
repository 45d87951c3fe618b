"""What rings when something real breaks: `make alerts`."""
