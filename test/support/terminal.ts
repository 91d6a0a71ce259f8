import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

/** A shell that keeps its working directory and variables from one script to the next, like the terminal of a reader. */
export class Terminal {
  readonly #shell: ChildProcessWithoutNullStreams;
  #scripts = 0;
  #stdout = '';
  #stderr = '';
  /** Searches for the end of the current script. */
  #check: (isClosed: boolean) => void = () => undefined;

  constructor(cwd: string, env: NodeJS.ProcessEnv) {
    this.#shell = spawn('sh', [], { cwd, env });
    this.#shell.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
      this.#check(false);
    });
    this.#shell.once('close', () => this.#check(true));
    this.#shell.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    this.#shell.stdin.write('set -e\n');
  }

  /** Everything on stderr until now. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Runs a script to its end and returns its stdout. Rejects if a command fails; the terminal is then closed. */
  async run(script: string): Promise<string> {
    if (this.#shell.exitCode !== null) throw new Error('the terminal is closed: an earlier command failed');
    this.#scripts += 1;
    const start = this.#stdout.length;
    const end = new RegExp(`\\n=== end ${this.#scripts}, exit code (\\d+)\\n$`);
    const ended = new Promise<RegExpExecArray | null>((resolve) => {
      this.#check = (isClosed) => {
        const found = end.exec(this.#stdout);
        if (found !== null || isClosed) resolve(found);
      };
    });
    // The commands must not read the scripts that follow from stdin.
    this.#shell.stdin.write(
      `{\n${script}\n} </dev/null\nprintf '\\n=== end ${this.#scripts}, exit code %s\\n' $?\n`,
    );
    const found = await ended;
    const output = this.#stdout.slice(start, found?.index);
    if (found?.[1] !== '0') throw new Error(`a command failed:\n${script}\n${output}\n${this.#stderr}`);
    return output;
  }

  close(): void {
    this.#shell.stdin.end();
    this.#shell.kill();
  }
}
