/** The objects of a JSON value whose fields are read, nested by key. Arrays have no entry of their own. */
export interface ReadObjects {
  readonly [name: string]: ReadObjects;
}

const KEY: ReadObjects = {};
const TOKEN_BALANCE: ReadObjects = { uiTokenAmount: {} };

/** The objects that are read in an entry of a block's `transactions`. */
export const TRANSACTION_OBJECTS: ReadObjects = {
  transaction: { accountKeys: KEY, message: { accountKeys: KEY, header: {} } },
  meta: {
    status: {},
    loadedAddresses: {},
    preTokenBalances: TOKEN_BALANCE,
    postTokenBalances: TOKEN_BALANCE,
  },
};

export const ANSWER_OBJECTS: ReadObjects = { result: { transactions: TRANSACTION_OBJECTS } };

interface Level {
  /** Keys of the object so far; null for an array. */
  readonly keys: Set<string> | null;
  readonly readObjects: ReadObjects;
  /** The objects that are read in the next value; undefined if the value is not read. */
  next: ReadObjects | undefined;
}

const QUOTE = '"';
const BACKSLASH = '\\';
const DELIMITERS = /["[\]{}]/g;
const COLON = /\s*:/y;

/**
 * The first key that occurs twice in one object of the JSON `text`, with escapes decoded; null if there is none.
 * `JSON.parse` silently uses the last value of such a key. Objects that are not in `readObjects` are ignored.
 */
export function duplicateKeyIn(text: string, readObjects: ReadObjects): string | null {
  const levels: Level[] = [{ keys: null, readObjects, next: readObjects }];
  let unreadDepth = 0;
  const delimiters = new RegExp(DELIMITERS);
  for (let found = delimiters.exec(text); found !== null; found = delimiters.exec(text)) {
    const level = levels.at(-1);
    const [delimiter] = found;
    if (level === undefined) break;
    if (delimiter === QUOTE) {
      const end = textEnd(text, delimiters.lastIndex);
      delimiters.lastIndex = end;
      COLON.lastIndex = end;
      if (unreadDepth > 0 || level.keys === null || !COLON.test(text)) continue;
      const key = keyOf(text.slice(found.index, end));
      if (level.keys.has(key)) return key;
      level.keys.add(key);
      level.next = Object.hasOwn(level.readObjects, key) ? level.readObjects[key] : undefined;
    } else if (delimiter === ']' || delimiter === '}') {
      if (unreadDepth > 0) unreadDepth -= 1;
      else levels.pop();
    } else if (unreadDepth > 0 || level.next === undefined || (delimiter === '[' && level.keys === null))
      unreadDepth += 1;
    else levels.push(levelOf(delimiter === '[', level.next));
  }
  return null;
}

function levelOf(isArray: boolean, readObjects: ReadObjects): Level {
  return isArray
    ? { keys: null, readObjects, next: readObjects }
    : { keys: new Set(), readObjects, next: undefined };
}

function keyOf(quoted: string): string {
  return quoted.includes(BACKSLASH) ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

/** The position after the closing quote of the string whose text begins at `from`. */
function textEnd(text: string, from: number): number {
  for (let end = text.indexOf(QUOTE, from); end >= 0; end = text.indexOf(QUOTE, end + 1)) {
    let before = end;
    while (text[before - 1] === BACKSLASH && before > from) before -= 1;
    if ((end - before) % 2 === 0) return end + 1;
  }
  return text.length;
}
