package claudesession

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/omoi-dev/omoi/internal/agent/transcript"
)

// Restored is the result of [Restore].
type Restored struct {
	Old  string // work tree in which the session began; empty: unknown, so that the session is unchanged
	Lost error  // why files next to the transcript are missing
}

// Restore writes a session into the file to for the work tree work. Otherwise Claude Code would not recognize files as read,
// and the model would search for files at paths that do not exist. from is the transcript of the session, and beside the log of
// the files next to it.
func Restore(from, beside, to, work string) (Restored, error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return Restored{}, fmt.Errorf("create transcript folder: %w", err)
	}
	m := mover{work: named(work), project: filepath.Dir(to)}
	if err := transcript.Recall(from, to, m.edit); err != nil {
		return Restored{}, err
	}
	return Restored{Old: m.from, Lost: transcript.Unpack(beside, strings.TrimSuffix(to, ".jsonl"), m.file)}, nil
}

// MovePaths returns a line of JSON with the folder to in place of the folder from.
func MovePaths(line []byte, from, to string) []byte {
	m := mover{from: from, work: to}
	return jsonString.ReplaceAllFunc(line, m.text)
}

// mover edits a session that began in another work tree: its lines name the current one.
type mover struct {
	work    string // current work tree
	project string // folder of its sessions

	known bool // learn has read the first entry
	from  string
	old   *regexp.Regexp // folder of the sessions of the old work tree
}

// edit returns a line of the session with the current paths.
func (m *mover) edit(line []byte) []byte {
	if !m.known {
		m.learn(line)
	}
	if m.from == "" {
		return line
	}
	return jsonString.ReplaceAllFunc(line, m.text)
}

// learn reads the old work tree from the first entry. Later entries may name another working directory of the agent, so
// a session without its first entry stays unchanged.
func (m *mover) learn(line []byte) {
	var entry struct {
		CWD    string          `json:"cwd"`
		Parent json.RawMessage `json:"parentUuid"` //nolint:tagliatelle // as Claude Code writes it
	}
	if json.Unmarshal(line, &entry) != nil || entry.CWD == "" {
		return
	}
	m.known = true
	if string(entry.Parent) != "null" || !filepath.IsAbs(entry.CWD) || entry.CWD == "/" {
		return
	}
	m.from = entry.CWD
	m.old = regexp.MustCompile(`/[^\s"'<>:=(),]*/projects/` + folderOf(m.from) + `/`)
}

// file returns a part of a file next to the session with the current paths.
func (m *mover) file(name string, text []byte) []byte {
	switch {
	case m.from == "":
		return text
	case filepath.Ext(name) == ".jsonl":
		return jsonString.ReplaceAllFunc(text, m.text)
	}
	return []byte(m.moved(string(text)))
}

var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// text edits one JSON string.
func (m *mover) text(quoted []byte) []byte {
	var text string
	if !bytes.ContainsRune(quoted, '/') || json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	moved := m.moved(text)
	if moved == text {
		return quoted
	}
	out, err := json.Marshal(moved)
	if err != nil { // the encoding of a string does not fail
		return quoted
	}
	return out
}

// moved returns a text with the current folders.
func (m *mover) moved(text string) string {
	if m.old != nil {
		text = m.old.ReplaceAllLiteralString(text, m.project+"/")
	}
	return replacePath(text, m.from, m.work)
}

// replacePath replaces a path where it stands alone or is followed by further components.
func replacePath(text, from, to string) string {
	var out strings.Builder
	done := 0
	for {
		at := strings.Index(text[done:], from)
		if at < 0 {
			out.WriteString(text[done:])
			return out.String()
		}
		at += done
		out.WriteString(text[done:at])
		done = at + len(from)
		if begins(text[:at]) && ends(text[done:]) {
			out.WriteString(to)
		} else {
			out.WriteString(from)
		}
	}
}

// begins reports whether a path can start after this text.
func begins(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return !ofName(last) && last != '.'
}

// ends reports whether a path component ends before this text. A dot may continue a name or end a sentence.
func ends(after string) bool {
	rest := strings.TrimLeft(after, ".")
	first, _ := utf8.DecodeRuneInString(rest)
	return !ofName(first) && (first != '/' || rest == after)
}

func ofName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-~+@", r)
}
