"""From several rankings to one."""
