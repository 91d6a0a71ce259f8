/** The objects of a JSON value that are read, by key path. An array stands for each of its elements. */
export interface ReadObjects {
  readonly [name: string]: ReadObjects;
}

const KEY: ReadObjects = {};
const TOKEN_BALANCE: ReadObjects = { uiTokenAmount: {} };

/** For an entry of a block's `transactions`, or for a single transaction. */
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
  /** Null in an array. */
  readonly keys: Set<string> | null;
  readonly readObjects: ReadObjects;
  /** How the next value is read; undefined if it is not read. */
  next: ReadObjects | undefined;
}

const QUOTE = '"';
const BACKSLASH = '\\';
const DELIMITERS = /["[\]{}]/g;
const COLON = /\s*:/y;

/**
 * The first key that occurs twice in one object of the JSON `text`, with escapes decoded; null if there is none.
 * Objects that are not read are ignored, because their duplicates change nothing. `JSON.parse` silently takes the
 * last one.
 */
export function duplicateKeyIn(text: string, readObjects: ReadObjects): string | null {
  const levels: Level[] = [{ keys: null, readObjects: readObjects, next: readObjects }];
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
    ? { keys: null, readObjects: readObjects, next: readObjects }
    : { keys: new Set(), readObjects: readObjects, next: undefined };
}

function keyOf(quoted: string): string {
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
