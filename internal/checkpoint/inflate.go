package checkpoint

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Bounds of the objects of a pack, and of what they inflate to. Git needs memory for each object, and for the content of one.
const (
	MaxObject  = 512 << 20 // bytes of one object
	MaxObjects = 8 << 30   // bytes of all objects
	maxCount   = 4 << 20   // objects
)

// ErrInflates reports that the objects of a pack are too large.
var ErrInflates = errors.New("the pack inflates beyond the limits")

var errDamaged = errors.New("the pack is damaged")

// CheckPack reads a Git pack to its end, and keeps no object in memory. The error wraps [ErrInflates] if the objects exceed the
// bounds. idBytes is the length of an object ID. Check a pack of a sandbox before Git reads the pack.
func CheckPack(pack io.Reader, idBytes int) error {
	p := packReader{in: bufio.NewReader(pack), idBytes: int64(idBytes)}
	var head [12]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil || string(head[:4]) != "PACK" {
		return errDamaged
	}
	count := binary.BigEndian.Uint32(head[8:])
	if count > maxCount {
		return ErrInflates
	}
	for n := range count {
		if err := p.object(); err != nil {
			return fmt.Errorf("object %d: %w", n+1, err)
		}
	}
	_, err := io.Copy(io.Discard, p.in) // the sum, which Git compares
	return err
}

type packReader struct {
	in      *bufio.Reader
	zip     io.ReadCloser
	idBytes int64
	total   uint64
}

// Kinds of objects that are differences: from an object at an offset of the pack, and from one with an ID.
const (
	offsetDelta = 6
	idDelta     = 7
)

// object reads an object, whose content is that of its size when inflated.
func (p *packReader) object() error {
	kind, size, err := p.header()
	if err == nil {
		err = p.count(size)
	}
	if err == nil && kind == offsetDelta {
		_, err = varint(p.in)
	}
	if err == nil && kind == idDelta {
		if _, skipped := io.CopyN(io.Discard, p.in, p.idBytes); skipped != nil {
			err = errDamaged
		}
	}
	if err == nil {
		err = p.inflate()
	}
	if err != nil {
		return err
	}
	content := &counted{in: p.zip}
	if kind == offsetDelta || kind == idDelta {
		if err := p.delta(content); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, io.LimitReader(content, int64(size)+1-content.n)) //nolint:gosec // at most MaxObject
	if err != nil || content.n != int64(size) {                                    //nolint:gosec // as above
		return errDamaged
	}
	return nil
}

// header reads the kind and the size of an object: the kind is in the first byte.
func (p *packReader) header() (kind byte, size uint64, err error) {
	first, err := p.in.ReadByte()
	if err != nil {
		return 0, 0, errDamaged
	}
	kind, size = first>>4&7, uint64(first&15)
	if first&128 != 0 {
		var rest uint64
		rest, err = varint(p.in)
		size |= rest << 4 //nolint:mnd // the first byte has four bits
	}
	return kind, size, err
}

// delta reads the sizes of the object before and after.
func (p *packReader) delta(content io.ByteReader) error {
	_, err := varint(content)
	if err != nil {
		return err
	}
	after, err := varint(content)
	if err != nil {
		return err
	}
	return p.count(after)
}

func (p *packReader) count(size uint64) error {
	if p.total += size; size > MaxObject || p.total > MaxObjects {
		return ErrInflates
	}
	return nil
}

// inflate begins to read the content of an object.
func (p *packReader) inflate() (err error) {
	if again, ok := p.zip.(zlib.Resetter); ok {
		err = again.Reset(p.in, nil)
	} else {
		p.zip, err = zlib.NewReader(p.in)
	}
	if err != nil {
		return errDamaged
	}
	return nil
}

// varint reads a number of at most 56 bits, seven bits a byte, the lowest first.
func varint(in io.ByteReader) (n uint64, err error) {
	const most = 56
	for shift := 0; shift < most; shift += 7 {
		b, err := in.ReadByte()
		if err != nil {
			return 0, errDamaged
		}
		if n |= uint64(b&127) << shift; b&128 == 0 {
			return n, nil
		}
	}
	return 0, errDamaged
}

// counted counts the bytes that were read.
type counted struct {
	in io.Reader
	n  int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.n += int64(n)
	return n, err
}

func (c *counted) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(c, b[:])
	return b[0], err
}
