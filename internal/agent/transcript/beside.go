package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Limits and folders of the files next to a transcript.
const (
	maxBeside    = 6 << 20 // bytes of all files
	maxEntries   = 1000    // maximum files and folders in one pass
	besideBytes  = 256 << 10
	toolResults  = "tool-results" // large outputs of tools, which the transcript names by path
	subagents    = "subagents"    // sessions of sub-agents
	linesOfJSON  = ".jsonl"
	besideFolder = 0o700
)

// part is a line of the log of the files next to a transcript: text that follows the earlier parts of its file.
type part struct {
	Path  string `json:"path"`
	First bool   `json:"first,omitempty"` // first part of the file
	Text  string `json:"text"`
}

// besideLog logs the text files in the folder next to a transcript, so that a [Keeper] can send the log.
type besideLog struct {
	folder string
	path   string           // path of the log
	at     map[string]int64 // logged bytes of each file
	total  int64
}

// newBeside starts an empty log for the folder with the name of the transcript.
func newBeside(session, log string) *besideLog {
	_ = os.Remove(log)
	return &besideLog{folder: strings.TrimSuffix(session, filepath.Ext(session)), path: log, at: map[string]int64{}}
}

// look logs the new content of the files.
func (b *besideLog) look() {
	root, err := os.OpenRoot(b.folder)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	log := Log{Path: b.path}
	defer log.Close()
	entries := 0
	for _, folder := range []string{toolResults, subagents} {
		_ = fs.WalkDir(root.FS(), folder, func(path string, entry fs.DirEntry, err error) error {
			if entries++; entries > maxEntries {
				return fs.SkipAll
			}
			if err == nil && entry.Type().IsRegular() {
				b.file(root, path, &log)
			}
			return nil
		})
	}
}

func (b *besideLog) file(root *os.Root, path string, log *Log) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe must not block
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if info.Size() < b.at[path] { // the file was replaced
		b.at[path] = 0
	}
	for at := b.at[path]; b.total < maxBeside; at = b.at[path] {
		piece := make([]byte, min(besideBytes, info.Size()-at))
		n, _ := f.ReadAt(piece, at)
		text := textOf(piece[:n], filepath.Ext(path) == linesOfJSON)
		if len(text) == 0 {
			return
		}
		log.Note(part{Path: path, First: at == 0, Text: string(text)})
		b.at[path], b.total = at+int64(len(text)), b.total+int64(len(text))
	}
}

// textOf returns the complete lines of a piece. A long line is split into parts. The last line of a file may lack a
// newline, except in JSON lines. Binary data is left out.
func textOf(piece []byte, lines bool) []byte {
	end := bytes.LastIndexByte(piece, '\n') + 1
	if end == 0 && lines && len(piece) < besideBytes {
		return nil
	}
	if end == 0 {
		end = len(piece)
		for end > max(0, len(piece)-utf8.UTFMax) && !utf8.Valid(piece[:end]) { // the piece ends within a character
			end--
		}
	}
	if !utf8.Valid(piece[:end]) {
		return nil
	}
	return piece[:end]
}

// Unpack writes the files next to an earlier attempt's transcript into a folder, each part as edit returns it. A file
// whose start is missing is left out. A missing from is not an error.
func Unpack(from, to string, edit func(path string, text []byte) []byte) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the files next to the earlier transcript: %w", err)
	}
	defer func() { _ = in.Close() }()
	if err := os.MkdirAll(to, besideFolder); err != nil {
		return fmt.Errorf("create folder next to the transcript: %w", err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("open folder next to the transcript: %w", err)
	}
	defer func() { _ = root.Close() }()
	begun := map[string]bool{}
	return eachLine(in, func(line []byte) error {
		var p part
		if readable := json.Unmarshal(line, &p) == nil; !readable || !p.allowed() || !p.First && !begun[p.Path] {
			return nil
		}
		begun[p.Path] = true
		p.Text = string(edit(p.Path, []byte(p.Text)))
		return p.write(root)
	})
}

func (p part) allowed() bool {
	first, _, _ := strings.Cut(p.Path, "/")
	return filepath.IsLocal(p.Path) && slices.Contains([]string{toolResults, subagents}, first)
}

func (p part) write(root *os.Root) error {
	how := os.O_APPEND
	if p.First {
		how = os.O_TRUNC
	}
	err := root.MkdirAll(filepath.Dir(p.Path), besideFolder)
	if err != nil {
		return fmt.Errorf("create folder of %s: %w", p.Path, err)
	}
	f, err := root.OpenFile(p.Path, os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err != nil {
		return fmt.Errorf("restore %s: %w", p.Path, err)
	}
	_, err = f.WriteString(p.Text)
	return errors.Join(err, f.Close())
}
