package scm_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omoi-dev/omoi/internal/scm"
)

const ticket = "01931f6e-7c2a-7abc-8def-0123456789ab"

func TestBranchName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, priority, title, want string }{
		{"feature", "MEDIUM", "Add dark mode", "feature/" + ticket + "-add-dark-mode"},
		{"bug", "HIGH", "Crash", "fix/" + ticket + "-crash"},
		{"bug", "CRITICAL", "Crash", "hotfix/" + ticket + "-crash"},
		{"Bug", "critical", "Crash", "hotfix/" + ticket + "-crash"},
		{"hotfix", "LOW", "Crash", "hotfix/" + ticket + "-crash"},
		{"feature", "CRITICAL", "Crash", "feature/" + ticket + "-crash"},
		{"release", "", "v1.2", "release/" + ticket + "-v12"},
		{"refactor", "", "x", "refactor/" + ticket + "-x"},
		{"docs", "", "x", "docs/" + ticket + "-x"},
		{"test", "", "x", "test/" + ticket + "-x"},
		{"chore", "", "x", "chore/" + ticket + "-x"},
		{"whatever", "", "x", "feature/" + ticket + "-x"},
		{"", "", "", "feature/" + ticket + "-task"},
	} {
		got := scm.BranchName(scm.BranchRequest{TicketID: ticket, Title: c.title, TicketType: c.kind, Priority: c.priority})
		require.Equal(t, c.want, got)
	}
}

func TestBranchName_HasTheKeyOfATask(t *testing.T) {
	t.Parallel()
	req := scm.BranchRequest{Key: "APP-12", TicketID: ticket, TaskID: "abc", Title: "Say hello", TicketType: "bug"}
	require.Equal(t, "fix/APP-12-say-hello", scm.BranchName(req))
}

func TestBranchNameWithoutTicketUsesTheTask(t *testing.T) {
	t.Parallel()
	require.Equal(t, "feature/abc-x", scm.BranchName(scm.BranchRequest{TaskID: "abc", Title: "x"}))
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Größe ändern":                  "grosse-andern",
		"Crème brûlée":                  "creme-brulee",
		"日本語":                           "task",
		"!!!":                           "task",
		"  -- lead & trail --  ":        "lead-trail",
		"a\tb\nc":                       "a-b-c",
		"Æsop Łódź":                     "aesop-lodz",
		strings.Repeat("x", 24) + " yz": strings.Repeat("x", 24),
		"bell\x07 ends\x00":             "bell-ends",
	} {
		require.Equal(t, want, scm.Slug(title), title)
	}
}

func TestSlugIsAlwaysLegal(t *testing.T) {
	t.Parallel()
	legal := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	rapid.Check(t, func(t *rapid.T) {
		slug := scm.Slug(rapid.String().Draw(t, "title"))
		if !legal.MatchString(slug) || len(slug) > scm.MaxSlug {
			t.Fatalf("slug %q", slug)
		}
	})
}

func TestFreeBranch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		taken []string
		want  string
	}{
		{"nothing in the way", nil, "docs/a"},
		{"taken once", []string{"main", "docs/a"}, "docs/a-2"},
		{"taken twice", []string{"docs/a", "docs/a-2"}, "docs/a-3"},
		{"case folds", []string{"Docs/A"}, "docs/a-2"},
		{"a folder of that name", []string{"docs/a/deeper"}, "docs/a-2"},
		{"a branch called like the prefix", []string{"docs"}, "omoi-docs/a"},
		{"and like its replacement", []string{"docs", "omoi-docs"}, "omoi-omoi-docs/a"},
	} {
		require.Equal(t, c.want, scm.FreeBranch("docs/a", c.taken), c.why)
	}
}
