/** The objects in a JSON value that are read, by the names that lead to them; an array is read as each of its elements. */
export interface ReadObjects {
  readonly [name: string]: ReadObjects;
}

const KEY: ReadObjects = {};
const TOKEN_BALANCE: ReadObjects = { uiTokenAmount: {} };

/** Of an entry of a block's `transactions`, or of a transaction that is shown alone. */
export const READ_IN_TRANSACTION: ReadObjects = {
  transaction: { accountKeys: KEY, message: { accountKeys: KEY, header: {} } },
  meta: {
    status: {},
    loadedAddresses: {},
    preTokenBalances: TOKEN_BALANCE,
    postTokenBalances: TOKEN_BALANCE,
  },
};

/** Of an answer to getBlock. */
export const READ_IN_ANSWER: ReadObjects = { result: { transactions: READ_IN_TRANSACTION } };

interface Level {
  /** Null in an array. */
  readonly names: Set<string> | null;
  readonly read: ReadObjects;
  /** What the value that comes next is read as; undefined where it is not read. */
  next: ReadObjects | undefined;
}

const QUOTE = '"';
const BACKSLASH = '\\';
const MARKS = /["[\]{}]/g;
const COLON = /\s*:/y;

/**
 * The first name that two members of one object have in the JSON `text`, however it is escaped; null where there is none. Only objects that
 * are read count: in others a second member changes nothing that we take from the text. `JSON.parse` takes the last one without a word.
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

/** Behind the quote that ends the text which begins at `from`. */
function textEnd(text: string, from: number): number {
  for (let end = text.indexOf(QUOTE, from); end >= 0; end = text.indexOf(QUOTE, end + 1)) {
    let before = end;
    while (text[before - 1] === BACKSLASH && before > from) before -= 1;
    if ((end - before) % 2 === 0) return end + 1;
  }
  return text.length;
}
