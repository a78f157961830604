fn main() {
    let c = shaderc::Compiler::new().unwrap();
    let a = c
        .compile_into_spirv(
            "#version 460\nlayout(local_size_x=1) in; void main(){}",
            shaderc::ShaderKind::Compute,
            "a",
            "main",
            None,
        )
        .unwrap();
    println!("{}", a.as_binary().len());
}
