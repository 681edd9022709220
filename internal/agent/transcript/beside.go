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

// Bounds of the files beside a transcript that are kept.
const (
	maxBeside    = 6 << 20 // bytes of all files
	maxEntries   = 1000    // files and folders that a look passes
	besideBytes  = 256 << 10
	toolResults  = "tool-results" // large outputs of tools, which the transcript names by their paths
	subagents    = "subagents"    // sessions of subagents
	linesOfJSON  = ".jsonl"
	besideFolder = 0o700
)

// part is a line of the log of the files beside a transcript: text that follows the earlier parts of its file.
type part struct {
	Path  string `json:"path"`
	First bool   `json:"first,omitempty"` // the file begins here
	Text  string `json:"text"`
}

// besideLog logs the text files in the folder beside a transcript, so that a [Keeper] can send the log.
type besideLog struct {
	folder string
	path   string           // of the log
	at     map[string]int64 // bytes of each file that are logged
	total  int64
}

// newBeside begins an empty log for the folder that is named as the transcript.
func newBeside(session, log string) *besideLog {
	_ = os.Remove(log)
	return &besideLog{folder: strings.TrimSuffix(session, filepath.Ext(session)), path: log, at: map[string]int64{}}
}

// look logs what the files have grown by.
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
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold the agent up
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if info.Size() < b.at[path] { // it was written again
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

// textOf returns the whole lines of a piece. A long line comes in parts; the last line of a file that is not in lines of JSON may
// lack its end. Other than text is left out.
func textOf(piece []byte, lines bool) []byte {
	end := bytes.LastIndexByte(piece, '\n') + 1
	if end == 0 && lines && len(piece) < besideBytes {
		return nil
	}
	if end == 0 {
		end = len(piece)
		for end > max(0, len(piece)-utf8.UTFMax) && !utf8.Valid(piece[:end]) { // the piece ends in a character
			end--
		}
	}
	if !utf8.Valid(piece[:end]) {
		return nil
	}
	return piece[:end]
}

// Unpack writes the files beside the transcript of an earlier attempt into a folder, each part as edit returns it. A file whose
// beginning is not kept any more is left out. It is no error if from does not exist.
func Unpack(from, to string, edit func(path string, text []byte) []byte) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the files beside the earlier transcript: %w", err)
	}
	defer func() { _ = in.Close() }()
	if err := os.MkdirAll(to, besideFolder); err != nil {
		return fmt.Errorf("create folder beside the transcript: %w", err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("open folder beside the transcript: %w", err)
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
