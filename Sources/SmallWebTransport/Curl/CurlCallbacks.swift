// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import CSmallWebTLS

// libcurl's callbacks. The context is the transfer.

func transfer(of context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
}

func writeCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    transfer(of: context)?.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(of: context)?.receiveHeader(line) ?? 0
}

func contextCallback(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
    _ data: UnsafeMutableRawPointer?
) -> CURLcode {
    if let library = try? TLSLibrary.shared(), let context {
        _ = library.functions.SSL_CTX_ctrl(
            OpaquePointer(context), Int32(swtls_clear_mode_command), Int(swtls_auto_retry), nil)
    }
    return CURLE_OK
}

func debugCallback(
    _ easy: UnsafeMutableRawPointer?, _ kind: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>?,
    _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    if kind == CURLINFO_HEADER_OUT {
        let text = UnsafeRawBufferPointer(start: bytes, count: count)
        transfer(of: context)?.noteSent(Array(text)[...])
    }
    return 0
}

func openSocketCallback(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address else { return -1 }
    return transfer(of: context)?.openSocket(address) ?? -1
}

func prereqCallback(
    _ context: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    transfer(of: context)?.beginRequest(to: remote) ?? true
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}
