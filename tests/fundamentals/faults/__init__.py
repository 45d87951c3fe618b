"""What breaks, and what people see of it: outages, hosts that die, poison."""
