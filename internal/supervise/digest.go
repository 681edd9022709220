package supervise

import (
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func digest(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash takes everything
	return h.Sum64()
}

// digestOf is the digest of an answer without what differs between two answers that say the
// same: times, durations, addresses, temporary paths. Plain numbers stay, since they count.
func digestOf(text string) uint64 {
	var kept []string
	held := ""
	for word := range strings.FieldsSeq(text) {
		word = plain(word)
		if numeric(held) && isUnit(word) { // 0.12 seconds
			held, word = "", ""
		}
		if held != "" {
			kept = append(kept, held)
		}
		held = word
	}
	return digest(strings.TrimRight(strings.Join(append(kept, held), " "), " "))
}

// plain is a word, or nothing where it changes by itself.
func plain(word string) string {
	word = strings.Trim(word, "()[]{}<>,;\"'")
	if volatile(word) {
		return ""
	}
	return word
}

func volatile(word string) bool {
	switch {
	case strings.HasPrefix(word, "/tmp/"), strings.HasPrefix(word, "/var/folders/"), strings.HasPrefix(word, "0x"):
		return true
	case word == "cached":
		return true
	case word == "" || !strings.ContainsAny(word, "0123456789"):
		return false
	}
	return isClock(word) || isDuration(word)
}

// isDuration knows 0.12s, 12ms, 1m3.2s.
func isDuration(word string) bool {
	if word[0] < '0' || word[0] > '9' || !strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "m") {
		return false
	}
	_, err := time.ParseDuration(word)
	return err == nil
}

// isClock knows dates and times: digits with what stands between them, at least twice.
func isClock(word string) bool {
	marks := 0
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
		case c == ':' || c == '-' && i > 0 || c == '/' && i > 0:
			marks++
		case c == '.' || c == 'T' || c == 'Z' || c == '+':
		default:
			return false
		}
	}
	return marks >= 2
}

func numeric(word string) bool {
	return word != "" && strings.Trim(word, "0123456789.") == ""
}

func isUnit(word string) bool {
	return slices.Contains([]string{"s", "ms", "sec", "secs", "second", "seconds", "m", "min", "minutes"}, word)
}

var (
	troubled = regexp.MustCompile(`(?i)error|fail|exception|traceback|panic|cannot|can't|unable|undefined|not found|no such|denied|refused|timed out|fatal|unexpected|expected`)
	places   = regexp.MustCompile(`(:\d+)+\b|\bline \d+|0x[0-9a-f]+`)
)

const errorLines = 3

// errorOf is what an error says: its first telling lines, without places and times. A bare
// exit code says nothing.
func errorOf(text string) string {
	var lines []string
	last, more := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || isExit(line) {
			continue
		}
		last = line
		switch {
		case !troubled.MatchString(line):
		case len(lines) < errorLines:
			lines = append(lines, sentenceOf(line))
		default:
			more++
		}
	}
	if len(lines) == 0 && last != "" {
		lines = append(lines, sentenceOf(last))
	}
	if more > 0 { // fewer of them are another error
		lines = append(lines, strconv.Itoa(more)+" more")
	}
	return strings.Join(lines, " | ")
}

func isExit(line string) bool {
	line = strings.ToLower(strings.Trim(line, "[]"))
	return strings.HasPrefix(line, "exit code ") || strings.HasPrefix(line, "exit status ")
}

func sentenceOf(line string) string {
	words := slices.DeleteFunc(strings.Fields(places.ReplaceAllString(cut(line, maxText), "")), func(word string) bool {
		return volatile(strings.Trim(word, "()[],;"))
	})
	return cut(strings.Join(words, " "), maxCommand/2)
}
