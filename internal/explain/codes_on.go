//go:build codes_only

package explain

const codesOnly = true
