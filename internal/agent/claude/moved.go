package claude

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mover edits a session that began in another folder: its lines name this workspace in place of the old one. The program takes
// only files under their present names as read, and the model would look for files where none are.
type mover struct {
	work    string // the workspace now
	project string // the folder of the sessions of this workspace

	known bool // the old workspace was looked for
	from  string
	old   *regexp.Regexp // the folder of the sessions of the old workspace
}

// edit returns a line as it is to be restored.
func (m *mover) edit(line []byte) []byte {
	if !m.known {
		m.learn(line)
	}
	if m.from == "" {
		return line
	}
	return jsonString.ReplaceAllFunc(line, m.text)
}

// learn takes the old workspace from the first entry. Later entries may name a folder into which the agent has changed, so a
// session without its beginning stays as it is.
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

// file returns a part of a file beside the session as it is to be restored.
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

// text edits one string of JSON.
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
	if err != nil { // a string always has a JSON form
		return quoted
	}
	return out
}

// moved returns a text that names the present folders.
func (m *mover) moved(text string) string {
	return replacePath(m.old.ReplaceAllLiteralString(text, m.project+"/"), m.from, m.work)
}

// replacePath replaces a path in a text where the path stands for itself or begins a longer one.
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

// begins reports whether a path can begin behind a text.
func begins(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return !ofName(last) && last != '.'
}

// ends reports whether a component of a path ends before a text. A dot continues a name or ends a sentence.
func ends(after string) bool {
	rest := strings.TrimLeft(after, ".")
	first, _ := utf8.DecodeRuneInString(rest)
	return !ofName(first) && (first != '/' || rest == after)
}

func ofName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-~+@", r)
}
