// Loaded with --import into a chain worker: its sessions of PostgreSQL have a name by which they can be told from those of the API.
if (process.env.CHAOS_SESSION_NAME !== undefined && process.env.SLUICE_WORKER_ROLE === 'chain')
  process.env.PGAPPNAME = process.env.CHAOS_SESSION_NAME;
