/** Lets `ms` milliseconds of real time pass, for servers whose clock cannot be moved. */
export function realTime(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
