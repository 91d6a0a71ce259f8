const echo = async (text: string): Promise<string> => text;

/** Three steps that do nothing. */
export const baselineActivities = { first: echo, second: echo, third: echo };
