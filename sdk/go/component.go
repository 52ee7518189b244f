//go:build wasip1

package host

import (
	"runtime"
	"unsafe"
)

// The component's exports, in the canonical ABI: calls from the host to the one callback that a component has.

// held keeps what the host reads, or has written, from being collected until the call is over.
var held []any

func hold[T any](value T) T {
	held = append(held, value)
	return value
}

// The host asks for memory by two names. Under the one that is usual for both, tools would use it before Go's runtime is
// there.

//go:wasmexport cabi_export_realloc
func allocateForExport(old unsafe.Pointer, oldSize, alignment, size uint32) unsafe.Pointer {
	return allocate(old, oldSize, alignment, size)
}

//go:wasmexport cabi_import_realloc
func allocateForImport(old unsafe.Pointer, oldSize, alignment, size uint32) unsafe.Pointer {
	return allocate(old, oldSize, alignment, size)
}

func allocate(old unsafe.Pointer, oldSize, alignment, size uint32) unsafe.Pointer {
	if size == 0 {
		return unsafe.Pointer(uintptr(alignment))
	}
	// Words of eight bytes are aligned for every type of the contract.
	block := make([]uint64, (size+7)/8)
	place := unsafe.Pointer(hold(unsafe.SliceData(block)))
	if oldSize > 0 {
		copy(unsafe.Slice((*byte)(place), size), unsafe.Slice((*byte)(old), oldSize))
	}
	return place
}

// text is a string in the canonical ABI; list is a list of anything.
type text struct {
	place  uint32
	length uint32
}
type list = text

func textOf(words string) text {
	if len(words) == 0 {
		return text{1, 0}
	}
	place := unsafe.StringData(words)
	hold(place)
	return text{uint32(uintptr(unsafe.Pointer(place))), uint32(len(words))}
}

func listOf[T any](items []T) list {
	if len(items) == 0 {
		return list{8, 0}
	}
	place := unsafe.SliceData(items)
	hold(place)
	return list{uint32(uintptr(unsafe.Pointer(place))), uint32(len(items))}
}

func textsOf(words []string) list {
	texts := make([]text, len(words))
	for index, word := range words {
		texts[index] = textOf(word)
	}
	return listOf(texts)
}

// result is a list or words for an error; every result of the contract has this form.
type result struct {
	isError uint32
	content list
}

func good[T any](items []T) unsafe.Pointer {
	return unsafe.Pointer(hold(&result{0, listOf(items)}))
}

func wrong(err error) unsafe.Pointer {
	return unsafe.Pointer(hold(&result{1, textOf(err.Error())}))
}

func copied(place unsafe.Pointer, length uint32) string {
	return string(unsafe.Slice((*byte)(place), length))
}

//go:wasmexport train-host:callback/callback@0.1.0#describe
func describe() unsafe.Pointer {
	type wireManifest struct {
		name, version, summary text
		requests               uint32
		knobs                  list
		lane                   uint32
		order                  int32
		schema                 text
		stateVersion           uint32
	}
	manifest := exported.manifest()
	lane := uint32(0)
	if manifest.Background {
		lane = 1
	}
	return unsafe.Pointer(hold(&wireManifest{
		textOf(manifest.Name), textOf(manifest.Version), textOf(manifest.Summary), uint32(manifest.Requests),
		textsOf(manifest.Knobs), lane, manifest.Order, textOf(manifest.ConfigSchema), manifest.stateVersion(),
	}))
}

//go:wasmexport train-host:callback/callback@0.1.0#start
func start(config unsafe.Pointer, configLength uint32, name unsafe.Pointer, nameLength uint32, seed uint64, rank,
	worldSize uint32, step uint64, description unsafe.Pointer, descriptionLength uint32) unsafe.Pointer {
	run := Run{copied(name, nameLength), seed, rank, worldSize, step, copied(description, descriptionLength)}
	var subscriptions Subscriptions
	if err := exported.start([]byte(copied(config, configLength)), &run, &subscriptions); err != nil {
		return wrong(err)
	}
	type wireSubscription struct {
		hook, every uint32
		reads       list
	}
	wired := make([]wireSubscription, len(subscriptions.list))
	for index, it := range subscriptions.list {
		wired[index] = wireSubscription{uint32(it.hook), it.every, textsOf(it.reads)}
	}
	return good(wired)
}

//go:wasmexport train-host:callback/callback@0.1.0#handle
func handle(hook uint32, step uint64, hasTotal uint32, total uint64, epoch float64, samples, tokens uint64, shape uint32,
	values unsafe.Pointer, count uint32) unsafe.Pointer {
	progress := Progress{Step: step, Epoch: epoch, Samples: samples, Tokens: tokens}
	if hasTotal == 1 {
		progress.TotalSteps = &total
	}
	event := Event{Hook: Hook(hook), Progress: progress, shape: shape}
	if count > 0 {
		event.Values = unsafe.Slice((*float64)(values), count)
	}
	var answer Answer
	if err := exported.handle(&event, &answer); err != nil {
		return wrong(err)
	}
	type wireDecision struct {
		kind  uint64
		words text
		value float64
	}
	wired := make([]wireDecision, len(answer.Decisions))
	for index, it := range answer.Decisions {
		wired[index] = wireDecision{uint64(it.Kind), textOf(it.Words), it.Value}
	}
	return good(wired)
}

//go:wasmexport train-host:callback/callback@0.1.0#save
func save() unsafe.Pointer {
	state, err := exported.save()
	if err != nil {
		return wrong(err)
	}
	return good(state)
}

//go:wasmexport train-host:callback/callback@0.1.0#load
func load(state unsafe.Pointer, length, version uint32) unsafe.Pointer {
	if err := exported.load([]byte(copied(state, length)), version); err != nil {
		return wrong(err)
	}
	return good([]byte(nil))
}

func endCall() {
	clear(held)
	held = held[:0]
}

//go:wasmexport cabi_post_train-host:callback/callback@0.1.0#describe
func afterDescribe(unsafe.Pointer) { endCall() }

//go:wasmexport cabi_post_train-host:callback/callback@0.1.0#start
func afterStart(unsafe.Pointer) { endCall() }

//go:wasmexport cabi_post_train-host:callback/callback@0.1.0#handle
func afterHandle(unsafe.Pointer) { endCall() }

//go:wasmexport cabi_post_train-host:callback/callback@0.1.0#save
func afterSave(unsafe.Pointer) { endCall() }

//go:wasmexport cabi_post_train-host:callback/callback@0.1.0#load
func afterLoad(unsafe.Pointer) { endCall() }

// What a callback can ask of the host.

//go:wasmimport train-host:callback/host@0.1.0 log
func importLog(level uint32, words unsafe.Pointer, length uint32)

//go:wasmimport train-host:callback/host@0.1.0 name-of
func importNameOf(key uint32, result unsafe.Pointer)

//go:wasmimport train-host:callback/host@0.1.0 key-of
func importKeyOf(words unsafe.Pointer, length uint32, result unsafe.Pointer)

//go:wasmimport train-host:callback/host@0.1.0 keys
func importKeys(result unsafe.Pointer)

//go:wasmimport train-host:callback/host@0.1.0 detail
func importDetail(result unsafe.Pointer)

//go:wasmimport train-host:callback/host@0.1.0 vector
func importVector(key uint32, result unsafe.Pointer)

//go:wasmimport train-host:callback/host@0.1.0 text
func importText(key uint32, result unsafe.Pointer)

// place is memory for an answer of the host's; a global, so that it neither moves nor is collected.
var place struct {
	tag   uint32
	first uint32
	count uint32
}

// words is what the host answered at the second number of place, or from there on.
func words(list list) string {
	if list.length == 0 {
		return ""
	}
	return copied(unsafe.Pointer(uintptr(list.place)), list.length)
}

func hostLog(level uint32, line string) {
	importLog(level, unsafe.Pointer(unsafe.StringData(line)), uint32(len(line)))
	runtime.KeepAlive(line)
}

func hostNameOf(key uint32) (string, bool) {
	importNameOf(key, unsafe.Pointer(&place))
	return words(list{place.first, place.count}), place.tag&0xff == 1
}

func hostKeyOf(name string) (uint32, bool) {
	importKeyOf(unsafe.Pointer(unsafe.StringData(name)), uint32(len(name)), unsafe.Pointer(&place))
	runtime.KeepAlive(name)
	return place.first, place.tag&0xff == 1
}

func hostKeys() []uint32 {
	importKeys(unsafe.Pointer(&place))
	if place.first == 0 || place.tag == 0 {
		return nil
	}
	return append([]uint32(nil), unsafe.Slice((*uint32)(unsafe.Pointer(uintptr(place.tag))), place.first)...)
}

func hostDetail() string {
	importDetail(unsafe.Pointer(&place))
	return words(list{place.tag, place.first})
}

func hostVector(key uint32) ([]float32, bool) {
	importVector(key, unsafe.Pointer(&place))
	if place.tag&0xff != 1 || place.count == 0 {
		return nil, place.tag&0xff == 1
	}
	return append([]float32(nil), unsafe.Slice((*float32)(unsafe.Pointer(uintptr(place.first))), place.count)...), true
}

func hostText(key uint32) (string, bool) {
	importText(key, unsafe.Pointer(&place))
	if place.tag&0xff != 1 {
		return "", false
	}
	return words(list{place.first, place.count}), true
}
