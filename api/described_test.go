package api_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// TestDocument_DescribesEverything fails for a field, parameter or operation whose description is missing or says no more
// than its name.
func TestDocument_DescribesEverything(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.json")
	require.NoError(t, err)
	var bare []string
	check := func(where, name, text string) {
		if !describes(name, text) {
			bare = append(bare, where+" "+name+": "+text)
		}
	}
	for name, schema := range doc.Components.Schemas {
		for field, of := range schema.Value.Properties {
			check(name, field, descriptionOf(of))
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			check(path, method, op.Description)
			for _, p := range op.Parameters {
				check(path, p.Value.Name, p.Value.Description)
			}
		}
	}
	require.Empty(t, bare)
}

// descriptionOf returns the description of a field: its own, or that of the schema to which it refers.
func descriptionOf(of *openapi3.SchemaRef) string {
	if of.Value == nil {
		return ""
	}
	return of.Value.Description
}

// describes reports whether a text has at least two words that are neither in the name nor small words.
func describes(name, text string) bool {
	known := " the a an of is in to for and or it its this that with from on by as at be are was " +
		strings.ReplaceAll(strings.ToLower(name), "_", " ") + " "
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	left := map[string]bool{}
	for _, word := range words {
		if !strings.Contains(known, " "+word+" ") {
			left[word] = true
		}
	}
	const enough = 2
	return len(left) >= enough
}
