//go:build !codes_only

package explain

// codesOnly replaces each sentence by its code: the build tag codes_only proves that no decision depends on a sentence.
const codesOnly = false
