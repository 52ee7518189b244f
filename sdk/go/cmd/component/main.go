// Command component makes the component of a callback that is written in Go:
//
//	go run github.com/train-host/host/sdk/go/cmd/component -o loss-ceiling.wasm ./loss-ceiling
//
// It needs Go, and one of two tools that make a component of a module: wasm-tools, or jco of npm
// (npm install -g @bytecodealliance/jco; without that npx fetches it).
package main

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// componentType is an object file that wit-bindgen made of the contract; a section in it is the type of the component.
//
//go:embed component_type.o
var componentType []byte

// adapter is a module that gives Go's runtime fixed answers to what it asks of a system; adapter/adapter.c is its source.
//
//go:embed adapter/adapter.module
var adapter []byte

func main() {
	out := flag.String("o", "callback.wasm", "the component's file")
	flag.Parse()
	folder := "."
	if flag.NArg() > 0 {
		folder = flag.Arg(0)
	}
	if err := build(folder, *out); err != nil {
		fmt.Fprintln(os.Stderr, "component:", err)
		os.Exit(1)
	}
}

func build(folder, out string) error {
	scratch, err := os.MkdirTemp("", "component")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	path := filepath.Join(scratch, "module.wasm")
	compiler := exec.Command("go", "build", "-C", folder, "-buildmode=c-shared", "-ldflags=-s -w", "-o", path, ".")
	compiler.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if err := run(compiler); err != nil {
		return err
	}
	if err := addType(path); err != nil {
		return err
	}
	adapterPath := filepath.Join(scratch, "adapter.wasm")
	if err := os.WriteFile(adapterPath, adapter, 0o600); err != nil {
		return err
	}
	tool, err := wrapper(path, "wasi_snapshot_preview1="+adapterPath, out)
	if err != nil {
		return err
	}
	return run(tool)
}

func run(command *exec.Cmd) error {
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command.Args, " "), err)
	}
	return nil
}

// wrapper is the tool that makes a component of a module with a type.
func wrapper(module, adapter, out string) (*exec.Cmd, error) {
	if tools, err := exec.LookPath("wasm-tools"); err == nil {
		return exec.Command(tools, "component", "new", module, "--adapt", adapter, "-o", out), nil
	}
	if jco, err := exec.LookPath("jco"); err == nil {
		return exec.Command(jco, "new", module, "--adapt", adapter, "-o", out), nil
	}
	if npx, err := exec.LookPath("npx"); err == nil {
		return exec.Command(npx, "--yes", "@bytecodealliance/jco@1.35.0", "new", module, "--adapt", adapter, "-o", out), nil
	}
	return nil, errors.New("neither wasm-tools nor jco nor npx is there: install wasm-tools, or Node.js")
}

// addType writes the section with the component's type behind a module.
func addType(path string) error {
	section, err := typeSection(componentType)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(section)
	return errors.Join(err, file.Close())
}

// typeSection finds the section whose name begins with component-type, behind the eight bytes that begin every module.
func typeSection(object []byte) ([]byte, error) {
	for at := 8; at < len(object); {
		start := at
		size, width := binary.Uvarint(object[at+1:])
		body := object[at+1+width:][:size]
		at += 1 + width + int(size)
		length, width := binary.Uvarint(body)
		if object[start] == 0 && strings.HasPrefix(string(body[width:][:length]), "component-type") {
			return object[start:at], nil
		}
	}
	return nil, errors.New("the object file has no type")
}
