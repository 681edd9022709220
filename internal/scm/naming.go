package scm

import (
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

// BranchName is the branch that a task would like: {prefix}/{ticket id}-{slug}. It may be
// taken; [FreeBranch] settles that.
func BranchName(req BranchRequest) string {
	ticket := RefSafe(req.TicketID)
	if ticket == "" {
		ticket = RefSafe(req.TaskID)
	}
	return BranchPrefix(req.TicketType, req.Priority) + "/" + ticket + "-" + Slug(req.Title)
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
	var b strings.Builder
	for _, r := range latin.Replace(strings.ToLower(norm.NFKD.String(title))) {
		switch {
		case isSlugRune(r):
			b.WriteRune(r)
		case r == '-' || unicode.IsSpace(r):
			writeHyphen(&b)
		}
	}
	s := b.String()
	s = strings.Trim(s[:min(len(s), MaxSlug)], "-")
	if s == "" {
		return emptySlug
	}
	return s
}

func isSlugRune(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

func writeHyphen(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
		b.WriteByte('-')
	}
}

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
	used := newNames(taken)
	prefix, rest, found := strings.Cut(name, "/")
	for found && used.branch[strings.ToLower(prefix)] {
		prefix = "omoi-" + prefix
		name = prefix + "/" + rest
	}
	free := name
	for n := 2; used.blocks(free); n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return free
}

// names are branches and the folders that they make, in lower case.
type names struct{ branch, folder map[string]bool }

func newNames(taken []string) names {
	n := names{branch: make(map[string]bool, len(taken)), folder: make(map[string]bool)}
	for _, t := range taken {
		t = strings.ToLower(t)
		n.branch[t] = true
		for i := strings.LastIndexByte(t, '/'); i > 0; i = strings.LastIndexByte(t[:i], '/') {
			n.folder[t[:i]] = true
		}
	}
	return n
}

func (n names) blocks(name string) bool {
	name = strings.ToLower(name)
	return n.branch[name] || n.folder[name]
}
