package supervise

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

const maxConstraints = 10

// LimitsOf returns what a task forbids. LimitsOf reads the keys allowed_paths, forbidden_paths, forbidden_commands and
// constraints of objects (execution_config of the task, settings of the project), and sentences of told such as: Only
// change `src/api`. Do not touch the tests in `e2e/`. Never run `git push --force`.
func LimitsOf(told string, objects ...json.RawMessage) Limits {
	var l Limits
	for _, object := range objects {
		var more Limits
		if json.Unmarshal(object, &more) == nil {
			l.add(more)
		}
	}
	for _, sentence := range sentences(told) {
		l.add(limitsIn(sentence))
	}
	l.Constraints = l.Constraints[:min(len(l.Constraints), maxConstraints)]
	return l
}

func (l *Limits) add(more Limits) {
	l.Constraints = union(l.Constraints, more.Constraints)
	l.Paths = union(l.Paths, more.Paths)
	l.NoPaths = union(l.NoPaths, more.NoPaths)
	l.NoCommands = union(l.NoCommands, more.NoCommands)
}

func union(a, b []string) []string {
	for _, text := range b {
		if text = strings.TrimSpace(text); text != "" && !slices.Contains(a, text) {
			a = append(a, text)
		}
	}
	return a
}

const changing = `(?:change|changing|edit|editing|touch|touching|modify|modifying|alter|write|writing|delete|deleting|remove|work)`

var (
	ends      = regexp.MustCompile(`[.!;]\s+|\n+|,? (?:but|and) (do not|don't|never|only)\b`)
	binding   = regexp.MustCompile(`(?i)\b(?:do not|don't|never|must not|mustn't|may not|only|without|leave|no new)\b`)
	allowing  = regexp.MustCompile(`(?i)\bonly ` + changing + `\b|\b` + changing + ` only\b|\bonly in\b`)
	refusing  = regexp.MustCompile(`(?i)\b(?:do not|don't|never|must not|mustn't|may not) ` + changing + `\b|\bwithout ` + changing + `\b|\bleave\b.*\b(?:alone|untouched|as (?:it is|they are))`)
	notRun    = regexp.MustCompile(`(?i)\b(?:do not|don't|never|must not|mustn't|may not) (?:run|use|call|execute)\b`)
	inTicks   = regexp.MustCompile("`([^`\\s]+)`|\"([^\"\\s]+)\"|(?:^|\\s)((?:[\\w.-]+/)+[\\w.*-]*)")
	commandIn = regexp.MustCompile("`([^`]+)`")
)

// sentences splits a text. A split at "but" or "and" leaves the words "do not", "never" or "only" in the second half.
func sentences(told string) []string {
	var list []string
	begin := 0
	for _, at := range ends.FindAllStringSubmatchIndex(told, -1) {
		end := at[1]
		if at[2] >= 0 {
			end = at[2]
		}
		list = append(list, strings.TrimSpace(told[begin:at[0]]))
		begin = end
	}
	return append(list, strings.TrimSpace(told[begin:]))
}

func limitsIn(sentence string) Limits {
	var l Limits
	if !binding.MatchString(sentence) {
		return l
	}
	l.Constraints = []string{cut(sentence, maxText)}
	switch {
	case notRun.MatchString(sentence):
		l.NoCommands = firsts(commandIn, sentence)
	case refusing.MatchString(sentence):
		l.NoPaths = pathsIn(sentence)
	case allowing.MatchString(sentence):
		l.Paths = pathsIn(sentence)
	}
	return l
}

// pathsIn returns the words that look like paths.
func pathsIn(sentence string) []string {
	var paths []string
	for _, word := range firsts(inTicks, sentence) {
		word = strings.TrimRight(word, ".,:;)")
		if strings.ContainsAny(word, "/.*") && !strings.HasPrefix(word, "http") {
			paths = append(paths, word)
		}
	}
	return paths
}

// firsts returns the nonempty groups of all matches.
func firsts(re *regexp.Regexp, text string) []string {
	var found []string
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		for _, group := range m[1:] {
			if group != "" {
				found = append(found, group)
			}
		}
	}
	return found
}

var lifting = regexp.MustCompile(`(?i)\b(?:may|can|allowed|go ahead|fine|okay|ok|please)\b`)

// liftedBy returns the paths that a user's message allows.
func liftedBy(message string) []string {
	var paths []string
	for _, sentence := range sentences(message) {
		if lifting.MatchString(sentence) && !binding.MatchString(sentence) {
			paths = append(paths, pathsIn(sentence)...)
		}
	}
	return paths
}
