package taskcontract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/taskcontract"
)

func TestJudges(t *testing.T) {
	t.Parallel()
	for file := range strings.FieldsSeq("p_test.go t/test_p.py tests/conftest.py pkg/foo_test.py shop/tests.py a.test.ts a.test.jsx a.spec.mjs __tests__/a.js " +
		"src/test/java/x/FooTest.java src/test/kotlin/FooTest.kt spec/a_spec.rb tests/it.rs src/lib_test.rs foo_test.cc FooTests.swift test/x_test.exs " +
		"test/w_test.dart FooTest.cs tests/FooTest.php testdata/golden.txt fixtures/a.json __snapshots__/a.snap pytest.ini jest.config.js conftest.py") {
		require.True(t, taskcontract.Judges(file), file)
	}
	for file := range strings.FieldsSeq("p.go src/testutil.go docs/testing.md latest/a.py contests.py Makefile package.json src/inspect.go") {
		require.False(t, taskcontract.Judges(file), file)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, file string
		want          bool
	}{
		{"src", "src/a/b.go", true},
		{"src/", "src/a.go", true},
		{"src", "other/src/a.go", false},
		{"src/*", "src/a.go", true},
		{"src/*", "src/a/b.go", false},
		{"src/**", "src/a/b.go", true},
		{"**/*.md", "a/b/c.md", true},
		{"**/*.md", "c.md", true},
		{"*.md", "a/c.md", false},
		{"go.mod", "go.mod", true},
		{"./go.mod", "go.mod", true},
		{"src", "/home/x/repo/src/a.go", true},
		{"src", "/home/x/repo/cmd/a.go", false},
		{"src", "../src/a.go", true},
		{"[", "a", false},
	} {
		require.Equal(t, c.want, taskcontract.Covers([]string{c.pattern}, c.file), "%s %s", c.pattern, c.file)
	}
}
