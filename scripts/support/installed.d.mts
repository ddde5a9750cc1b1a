/** Where the program `name` is on PATH (or in one of `folders`), or null. */
export function findProgram(name: string, folders?: readonly string[]): Promise<string | null>;

/**
 * Installs Debian packages when that can be done without asking anyone: as root, with apt. Services
 * that the packages would start are kept from starting. Resolves with whether it installed.
 * @throws when apt fails, with its output in the message. Costs tens of seconds.
 */
export function aptInstall(...packages: readonly string[]): Promise<boolean>;

/** Whether a Docker daemon answers. */
export function dockerAnswers(): Promise<boolean>;

/** Runs a docker command and gives its trimmed output. @throws with the daemon's message */
export function docker(...args: readonly string[]): Promise<string>;
