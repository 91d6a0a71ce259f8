// Loaded with --import into a chain worker: gives its PostgreSQL sessions a name that distinguishes them from those of the API.
if (process.env.CHAOS_SESSION_NAME !== undefined && process.env.SLUICE_WORKER_ROLE === 'chain')
  process.env.PGAPPNAME = process.env.CHAOS_SESSION_NAME;
