/** The settings do not make a service. Lists every mistake, each with the setting, what is wrong and what to do. */
export class ConfigError extends Error {
  readonly code = 'config_invalid';

  constructor(readonly mistakes: readonly string[]) {
    const count = mistakes.length === 1 ? 'one mistake' : `${mistakes.length} mistakes`;
    super(
      `The settings hold ${count} (.env.example explains every setting):\n` +
        mistakes.map((mistake) => `  - ${mistake}`).join('\n'),
    );
    this.name = 'ConfigError';
  }
}
