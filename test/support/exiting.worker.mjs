/** Stands in for the PDF worker in tests of a thread that ends before it has read anything. */
export default () => process.exit(3);
