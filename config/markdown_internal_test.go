package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocumentationIsCurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "CONFIGURATION.md")
	if os.Getenv("OMOI_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(markdown()), 0o600))
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, markdown(), string(content), "run make generate")
}

// markdown returns docs/CONFIGURATION.md.
func markdown() string {
	var b strings.Builder
	b.WriteString(preamble)
	for _, g := range Groups() {
		shown := slices.DeleteFunc(slices.Clone(g.Fields), func(f Field) bool { return f.Hidden })
		if len(shown) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", g.Name)
		if g.Note != "" {
			b.WriteString(g.Note + "\n\n")
		}
		b.WriteString("| key and variables | type, range | default | description |\n|---|---|---|---|\n")
		for _, f := range shown {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", names(f), kind(f), standard(f), meaning(f))
		}
	}
	return b.String()
}

const preamble = `# Configuration

Generated from package config by ` + "`make generate`" + `; do not edit.

For operators: which settings exist, and where does a value come from? How to install omoi: [INSTALL.md](INSTALL.md).

A setting has the first value that is found in this order: command parameter, environment, ` + "`.env.local`, `.env`" + ` (working
directory), ` + "`<env>.yaml`, `base.yaml`" + ` (configuration directory), default. An empty variable counts as not set. A value out of
range is an error. ` + "`omoi config show`" + ` prints every value with its origin and masks secrets. Write durations as ` + "`90s`, `15m`" + `
or ` + "`4h`" + `; variables marked (m) or (s) hold a number of minutes or seconds.
`

func names(f Field) string {
	parts := []string{"**`" + f.Key + "`**"}
	for _, key := range f.YAML[1:] {
		parts = append(parts, "`"+key+"`")
	}
	for _, name := range f.Env {
		text := "`" + name + "`"
		if unit, ok := f.scale[name]; ok {
			text += " (" + strings.TrimLeft(short(unit), "1") + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "<br>")
}

func kind(f Field) string {
	text := cmp.Or(f.Unit, f.Type)
	switch {
	case len(f.OneOf) > 0:
		text = strings.Join(f.OneOf, ", ")
	case f.Min != "" && f.Max != "":
		text += ", " + f.Min + "–" + f.Max
	}
	return text
}

func standard(f Field) string {
	if f.Default == "" {
		return ""
	}
	return "`" + f.Default + "`"
}

func meaning(f Field) string {
	if f.Zero == "" {
		return f.Doc
	}
	word := "Empty"
	if f.Type == "integer" || f.Type == "number" || f.Type == "duration" {
		word = "Zero"
	}
	return f.Doc + " " + word + ": " + f.Zero + "."
}
