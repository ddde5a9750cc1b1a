export { DocumentsModule } from './documents.module.js';
export { DocumentNotFoundError } from './documents.errors.js';
export { DocumentId } from './dto/document-id.dto.js';
export { modelProblems } from './model-problems.js';
export { VECTOR_STORE, type VectorStore } from './ports/vector-store.js';
export { SearchService } from './search.service.js';
