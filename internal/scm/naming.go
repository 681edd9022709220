package scm

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// UsualBranches are tried in this order where nothing says which branch is the default.
func UsualBranches() []string { return []string{"main", "master", "develop", "trunk"} }

// MaxSlug is the longest slug of a branch name, in bytes.
const MaxSlug = 25

// emptySlug stands in for a title that leaves no letter or digit.
const emptySlug = "task"

// BranchName is the branch that a task would like: {prefix}/{key}-{slug}; without a key the legacy name, {prefix}/{ticket id}-{slug}.
// It may be taken; [FreeBranch] settles that.
func BranchName(req BranchRequest) string {
	named := cmp.Or(RefSafe(req.Key), RefSafe(req.TicketID), RefSafe(req.TaskID))
	return BranchPrefix(req.TicketType, req.Priority) + "/" + named + "-" + Slug(req.Title)
}

// BranchPrefix is the kind of a branch. Type and priority are read in any case; a critical
// bug is a hotfix, and an unknown type a feature.
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

// Slug turns a title into at most [MaxSlug] characters of a-z, 0-9 and single hyphens.
// It is never empty and neither begins nor ends with a hyphen.
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

// latin spells the letters that decomposition leaves whole.
//
//nolint:gochecknoglobals // a constant table
var latin = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i")

// RefSafe keeps of an id what is legal in every ref, route and file name.
func RefSafe(id string) string {
	return strings.Map(func(r rune) rune {
		if isSlugRune(unicode.ToLower(r)) || r == '-' || r == '_' {
			return r
		}
		return -1
	}, id)
}

// FreeBranch answers name, or the first of name-2, name-3, ... that no branch in taken
// blocks: by being the same in any case (file systems fold it), or by being a folder of
// the other, which git cannot store. Where a branch is called like the prefix itself
// ("docs"), the prefix becomes omoi-docs.
func FreeBranch(name string, taken []string) string {
	branches, blocked := map[string]bool{}, map[string]bool{} // in lower case; folders block, too
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

// Quoted is a path as a shell takes it, for commands that people copy.
func Quoted(path string) string {
	if path != "" && !strings.ContainsAny(path, " '\"$&|;<>()*?[]{}#~`\\!\t\n") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
