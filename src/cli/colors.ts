import pc from 'picocolors';

const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
const onTerminal = process.stdout.isTTY === true && TERM !== 'dumb';

/** Colours for people at a terminal; none in a pipe or a log, a CI's neither: scripts read those. */
export const colors = pc.createColors(!NO_COLOR && (Boolean(FORCE_COLOR) || onTerminal));
