/** The objects of a JSON value that are read, by key path. An array stands for each of its elements. */
export interface ReadObjects {
  readonly [name: string]: ReadObjects;
}

const KEY: ReadObjects = {};
const TOKEN_BALANCE: ReadObjects = { uiTokenAmount: {} };

/** For an entry of a block's `transactions`, or for a single transaction. */
export const READ_IN_TRANSACTION: ReadObjects = {
  transaction: { accountKeys: KEY, message: { accountKeys: KEY, header: {} } },
  meta: {
    status: {},
    loadedAddresses: {},
    preTokenBalances: TOKEN_BALANCE,
    postTokenBalances: TOKEN_BALANCE,
  },
};

export const READ_IN_ANSWER: ReadObjects = { result: { transactions: READ_IN_TRANSACTION } };

interface Level {
  /** Null in an array. */
  readonly names: Set<string> | null;
  readonly read: ReadObjects;
  /** How the next value is read; undefined if it is not read. */
  next: ReadObjects | undefined;
}

const QUOTE = '"';
const BACKSLASH = '\\';
const MARKS = /["[\]{}]/g;
const COLON = /\s*:/y;

/**
 * The first key that occurs twice in one object of the JSON `text`, with escapes decoded; null if there is none.
 * Objects that are not read are ignored, because their duplicates change nothing. `JSON.parse` silently takes the
 * last one.
 */
export function doubleNameIn(text: string, read: ReadObjects): string | null {
  const levels: Level[] = [{ names: null, read, next: read }];
  let unread = 0;
  const marks = new RegExp(MARKS);
  for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
    const level = levels.at(-1);
    const [mark] = found;
    if (level === undefined) break;
    if (mark === QUOTE) {
      const end = textEnd(text, marks.lastIndex);
      marks.lastIndex = end;
      COLON.lastIndex = end;
      if (unread > 0 || level.names === null || !COLON.test(text)) continue;
      const name = nameOf(text.slice(found.index, end));
      if (level.names.has(name)) return name;
      level.names.add(name);
      level.next = Object.hasOwn(level.read, name) ? level.read[name] : undefined;
    } else if (mark === ']' || mark === '}') {
      if (unread > 0) unread -= 1;
      else levels.pop();
    } else if (unread > 0 || level.next === undefined || (mark === '[' && level.names === null)) unread += 1;
    else levels.push(levelOf(mark === '[', level.next));
  }
  return null;
}

function levelOf(isArray: boolean, read: ReadObjects): Level {
  return isArray ? { names: null, read, next: read } : { names: new Set(), read, next: undefined };
}

function nameOf(quoted: string): string {
  return quoted.includes(BACKSLASH) ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

/** The position after the closing quote of the text that begins at `from`. */
function textEnd(text: string, from: number): number {
  for (let end = text.indexOf(QUOTE, from); end >= 0; end = text.indexOf(QUOTE, end + 1)) {
    let before = end;
    while (text[before - 1] === BACKSLASH && before > from) before -= 1;
    if ((end - before) % 2 === 0) return end + 1;
  }
  return text.length;
}
