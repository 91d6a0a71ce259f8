import pc from 'picocolors';

const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
const onTerminal = process.stdout.isTTY === true && TERM !== 'dumb';

/** Colours only on a terminal. Scripts parse the output of pipes, logs and CI. */
export const colors = pc.createColors(!NO_COLOR && (Boolean(FORCE_COLOR) || onTerminal));
