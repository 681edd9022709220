package review

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a page.
const (
	maxLine      = 4 << 10
	maxPageLines = 2000
	maxPageBytes = 512 << 10
)

// page reads a page of a unified diff.
type page struct {
	out   *FileDiff
	skip  int // lines before the page that are left
	lines int
	bytes int

	oldLine, newLine int // next line of each side
	section          string
	open             bool // the last hunk of the page is the present one
}

// read reads hunks until the page is full.
func (p *page) read(in *bufio.Reader) error {
	hunks := false
	for {
		line, length, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case bytes.HasPrefix(line, []byte("@@ ")):
			hunks = true
			p.begin(string(line))
		case !hunks: // names and modes
		case p.skip > 0:
			p.skip--
			p.pass(line)
		case p.lines == maxPageLines, p.bytes >= maxPageBytes:
			p.out.NextOffset = new(p.out.Offset + p.lines)
			return nil
		default:
			p.add(line, length)
		}
	}
}

// readLine returns the first bytes of a line without its end, and the length of the line.
func readLine(in *bufio.Reader) (line []byte, length int, err error) {
	line, err = in.ReadSlice('\n')
	line, length = bytes.TrimSuffix(bytes.Clone(line), []byte("\n")), len(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		var more []byte
		more, err = in.ReadSlice('\n')
		length += len(more)
	}
	if err == nil {
		length-- // the line break
	} else if errors.Is(err, io.EOF) && length > 0 {
		err = nil
	}
	return line, length, err
}

// begin reads the numbers of "@@ -<start>[,<lines>] +<start>[,<lines>] @@[ <section>]".
func (p *page) begin(line string) {
	ranges, section, _ := strings.Cut(strings.TrimPrefix(line, "@@ "), " @@")
	before, after, _ := strings.Cut(ranges, " ")
	p.oldLine, p.newLine = firstLine(before), firstLine(after)
	p.section, p.open = text(strings.TrimPrefix(section, " ")), false
}

// firstLine returns the first line of a range. A range without lines names the line in front of it.
func firstLine(of string) int {
	start, lines, _ := strings.Cut(of[1:], ",")
	n, _ := strconv.Atoi(start) // of git
	if lines == "0" {
		n++
	}
	return n
}

// add appends a line to the page.
func (p *page) add(line []byte, length int) {
	if !p.open {
		p.out.Hunks = append(p.out.Hunks, Hunk{OldStart: p.oldLine, NewStart: p.newLine, Section: p.section, Lines: []string{}, Cut: []CutLine{}})
		p.open = true
	}
	h := &p.out.Hunks[len(p.out.Hunks)-1]
	if length > len(line) {
		h.Cut = append(h.Cut, CutLine{Line: len(h.Lines), Bytes: length})
		line = wholeRunes(line)
	}
	if !utf8.Valid(line) {
		p.out.InvalidUTF8 = true
	}
	h.Lines = append(h.Lines, text(string(line)))
	p.lines, p.bytes = p.lines+1, p.bytes+len(line)
	old, now := p.pass(line)
	h.OldLines, h.NewLines = h.OldLines+old, h.NewLines+now
}

// pass moves behind a line, and returns how many lines of each side it is.
func (p *page) pass(line []byte) (old, now int) {
	switch {
	case len(line) == 0 || line[0] == ' ':
		old, now = 1, 1
	case line[0] == '-':
		old = 1
	case line[0] == '+':
		now = 1
	}
	p.oldLine, p.newLine = p.oldLine+old, p.newLine+now
	return old, now
}

// finish corrects hunks without lines on a side: their start is the line in front.
func (p *page) finish() {
	for n := range p.out.Hunks {
		h := &p.out.Hunks[n]
		if h.OldLines == 0 {
			h.OldStart--
		}
		if h.NewLines == 0 {
			h.NewStart--
		}
	}
}

// wholeRunes returns text without the begun character at its end.
func wholeRunes(line []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(line); n++ {
		if at := len(line) - n; utf8.RuneStart(line[at]) {
			if !utf8.FullRune(line[at:]) {
				return line[:at]
			}
			break
		}
	}
	return line
}
