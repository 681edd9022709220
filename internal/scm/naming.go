package scm

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/omoi-dev/omoi/internal/shellcmd"
)

// UsualBranches returns the usual names of default branches, in the order in which they are tried.
func UsualBranches() []string { return []string{"main", "master", "develop", "trunk"} }

// MaxSlug is the maximum length of the slug in a branch name, in bytes.
const MaxSlug = 25

// emptySlug replaces the slug of a title without letters and digits.
const emptySlug = "task"

// BranchName returns the preferred branch name of a task: {prefix}/{key}-{slug}, or the legacy name {prefix}/{ticket
// id}-{slug} without a key. [FreeBranch] resolves conflicts.
func BranchName(req BranchRequest) string {
	named := cmp.Or(RefSafe(req.Key), RefSafe(req.TicketID), RefSafe(req.TaskID))
	return BranchPrefix(req.TicketType, req.Priority) + "/" + named + "-" + Slug(req.Title)
}

// BranchPrefix returns the prefix of a branch. Case is ignored. A critical bug is a hotfix, and an unknown type a
// feature.
func BranchPrefix(ticketType, priority string) string {
	switch kind := strings.ToLower(strings.TrimSpace(ticketType)); kind {
	case "bug":
		if strings.EqualFold(strings.TrimSpace(priority), "CRITICAL") {
			return "hotfix"
		}
		return "fix"
	case "refactor", "docs", "test", "chore", "release", "hotfix":
		return kind
	}
	return "feature"
}

// Slug returns a title as at most [MaxSlug] characters of a-z, 0-9 and single hyphens. The result is not empty, and
// does not start or end with a hyphen.
func Slug(title string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case isSlugRune(r):
			return r
		case r == '-' || unicode.IsSpace(r):
			return '-'
		}
		return -1
	}, latin.Replace(strings.ToLower(norm.NFKD.String(title))))
	words := strings.FieldsFunc(kept, func(r rune) bool { return r == '-' })
	slug := strings.Join(words, "-")
	return cmp.Or(strings.TrimSuffix(slug[:min(len(slug), MaxSlug)], "-"), emptySlug)
}

func isSlugRune(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// latin spells letters that Unicode decomposition does not split.
//
//nolint:gochecknoglobals // a constant table
var latin = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i")

// RefSafe returns the characters of an ID that are legal in every ref, route and file name.
func RefSafe(id string) string {
	return strings.Map(func(r rune) rune {
		if isSlugRune(unicode.ToLower(r)) || r == '-' || r == '_' {
			return r
		}
		return -1
	}, id)
}

// FreeBranch returns name, or the first of name-2, name-3, ... that no branch in taken blocks. A branch blocks an equal
// name in any case, since file systems ignore case, and a name of which it is a folder or which is a folder of it. If a
// branch is called like the prefix itself ("docs"), the prefix becomes omoi-docs.
func FreeBranch(name string, taken []string) string {
	branches, blocked := map[string]bool{}, map[string]bool{} // in lower case; parent folders block, too
	for _, t := range taken {
		t = strings.ToLower(t)
		branches[t], blocked[t] = true, true
		for i := strings.LastIndexByte(t, '/'); i > 0; i = strings.LastIndexByte(t[:i], '/') {
			blocked[t[:i]] = true
		}
	}
	prefix, rest, found := strings.Cut(name, "/")
	for found && branches[strings.ToLower(prefix)] {
		prefix = "omoi-" + prefix
		name = prefix + "/" + rest
	}
	free := name
	for n := 2; blocked[strings.ToLower(free)]; n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return free
}

// Quoted returns a path quoted for a shell, for commands that users copy.
func Quoted(path string) string {
	if path != "" && !strings.ContainsAny(path, " '\"$&|;<>()*?[]{}#~`\\!\t\n") {
		return path
	}
	return shellcmd.Line(path)
}
