/** Prints the plain closing line `N passed, N failed` that continuous integration reads. */
export default class CountReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stdout.write(`${results.numPassedTests} passed, ${failed} failed${tail}\n`);
  }
}
